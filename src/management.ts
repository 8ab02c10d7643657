// The entry `promptledger/management`: the management API as a face, for `faces` of `createService`.
export type { Face } from "./http/face.ts";
export { management } from "./faces/management.ts";
export type { ManagementMembers } from "./faces/management.ts";
export type { Admin } from "./management/admin.ts";
