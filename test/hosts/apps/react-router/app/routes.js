export default [{ path: "llm/*", file: "routes/llm.js" }];
