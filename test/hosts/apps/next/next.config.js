// The native module of libSQL cannot be bundled.
export default { output: "standalone", serverExternalPackages: ["libsql", "@libsql/client"] };
