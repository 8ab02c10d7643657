// The entry `promptledger/feedback`: feedback on records as a face, for `faces` of `createService`.
export type { Face } from "./http/face.ts";
export { feedback } from "./feedback/face/feedback.ts";
