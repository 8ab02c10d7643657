// A server of S3 with a bucket, in the folder that the first argument names. It accepts the key S3RVER with the secret S3RVER.
import module from "node:module";
import process from "node:process";

type Server = new (options: object) => { run(): Promise<{ port: number }> };

const S3rver = module.createRequire(import.meta.url)("@20minutes/s3rver") as Server;
const { port } = await new S3rver({
  ...{ address: "127.0.0.1", port: 0, silent: true, vhostBuckets: false, directory: process.argv[2] },
  configureBuckets: [{ name: "backups", configs: [] }],
}).run();
console.log(`Listening on ${port}`);
