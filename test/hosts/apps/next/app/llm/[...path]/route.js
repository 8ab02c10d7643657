import { service } from "../../../service.js";

const handler = (request) => service.fetch(request);
export { handler as DELETE, handler as GET, handler as HEAD, handler as OPTIONS, handler as PATCH, handler as POST };
