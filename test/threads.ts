// Starts the reader threads of services in a process of tests on Node from a bundle. Node 20 translates the source again for each
// thread, which takes five times as long as the rest of its start.
import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import threads from "node:worker_threads";
import { bundleReader, bundles, currentRuntime } from "./runtimes.ts";

const { Worker } = threads;

class BundledWorker extends Worker {
  constructor(entry: string | URL, options: threads.WorkerOptions = {}) {
    const isReader = options.eval === true && String(entry).includes("/src/database/file/promptledger-reader.ts");
    const bundled = { ...options, eval: false, execArgv: [] };
    super(isReader ? pathToFileURL(bundleReader()) : entry, isReader ? bundled : options);
  }
}

if (currentRuntime === "Node" && bundles) {
  threads.Worker = BundledWorker;
  syncBuiltinESMExports();
}
