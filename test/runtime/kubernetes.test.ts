// The manifest for Kubernetes fits the schema of Kubernetes, the image and the settings.
// Runs on Node alone.
import { readFile } from "node:fs/promises";
import { Ajv } from "ajv";
import { parseAllDocuments } from "yaml";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readConfig } from "../../src/runtime/settings/config.ts";
import { createFolder, findFreePort, startService } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";

const test = suite("kubernetes");

const read = (file: string) => readFile(pathOf(file), "utf8");
const text = await read("src/deploy/kubernetes.yaml");
const containerfile = await read("src/deploy/Containerfile");

type Probe = { httpGet: { path: string; port: string }; timeoutSeconds?: number };
type Container = {
  image: string;
  env: { name: string; value: string }[];
  envFrom: { secretRef: { name: string } }[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  volumeMounts: { name: string; mountPath: string }[];
};
type Labels = Record<string, string>;
type Service = {
  kind: "Service";
  metadata: { name: string };
  spec: { selector: Labels; ports: { port: number; targetPort: string }[] };
};
type Pod = {
  terminationGracePeriodSeconds: number;
  securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number };
  containers: [Container];
};
type StatefulSet = {
  kind: "StatefulSet";
  spec: {
    serviceName: string;
    replicas: number;
    selector: { matchLabels: Labels };
    template: { metadata: { labels: Labels; annotations: Labels }; spec: Pod };
    volumeClaimTemplates: { metadata: { name: string } }[];
  };
};

const parse = (yaml: string) => parseAllDocuments(yaml).map((document) => document.toJS()) as [Service, StatefulSet];
const [service, { spec: set }] = parse(text);
const pod = set.template.spec, [container] = pod.containers;
const settings = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));

const { definitions } = JSON.parse(await read("test/runtime/kubernetes-schema.json"));
const ajv = new Ajv({ allowUnionTypes: true });
ajv.addSchema({ $id: "kubernetes", definitions });

/** What does not fit the schema. */
function faultsOf(yaml: string): string[] {
  return parse(yaml).flatMap((document) => {
    const validate = ajv.getSchema(`kubernetes#/definitions/${document.kind}`)!;
    return validate(document) ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  });
}

test("the manifest fits the schema of Kubernetes", () => {
  assert.equal(parse(text).map(({ kind }) => kind), ["Service", "StatefulSet"]);
  assert.equal(faultsOf(text), []);
});

test("the schema finds each member whose name has a typing error, and values of a wrong type", () => {
  const names = [...new Set(Array.from(text.matchAll(/^ *(?:- )?(\w+):/gm), ([, name]) => name!))];
  const free = ["app", "prometheus", "apiVersion", "kind"];
  // The labels, annotations and quantities of a name of their own.
  for (const name of names.filter((name) => !free.includes(name) && !["cpu", "memory", "storage"].includes(name))) {
    const faults = faultsOf(text.replace(new RegExp(`^( *(?:- )?)${name}:`, "m"), `$1${name}x:`));
    assert.ok(faults.length > 0, name);
  }
  assert.ok(faultsOf(text.replace('value: "5"', "value: 5")).length > 0);
});

test("its settings are valid, and the service listens where it says and stops before it is killed", () => {
  const [image] = /^ENV (.*)$/m.exec(containerfile)!.slice(1).map((line) =>
    Object.fromEntries(line.split(" ").map((each) => each.split("=")))
  );
  const config = readConfig({ ...image, ...settings, ADMIN_TOKEN: adminToken });
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]));
  assert.equal(ports, { http: config.port, metrics: config.metricsPort });
  assert.equal([config.host, config.metricsHost], ["0.0.0.0", "0.0.0.0"]);
  assert.equal(service.spec.ports, [{ name: "http", port: config.port, targetPort: "http" }]);
  assert.is(set.template.metadata.annotations["prometheus.io/port"], String(config.metricsPort));
  assert.ok(config.shutdownDelay > 0);
  assert.ok(1000 * pod.terminationGracePeriodSeconds > config.shutdownTimeout);
});

test("it runs this version's image as the user and on the volume of the image, once", async () => {
  const { version } = JSON.parse(await read("package.json"));
  assert.ok(container.image.endsWith(`/promptledger:${version}`));
  const [, user, group] = /^USER (\d+):(\d+)$/m.exec(containerfile)!.map(Number);
  assert.equal(pod.securityContext, { ...pod.securityContext, runAsUser: user, runAsGroup: group, fsGroup: group });
  const [, volume] = /^VOLUME (.*)$/m.exec(containerfile)!;
  const [{ metadata: { name } }] = set.volumeClaimTemplates as [{ metadata: { name: string } }];
  assert.equal(container.volumeMounts, [{ name, mountPath: volume }]);
  assert.is(set.replicas, 1);
  assert.is(set.serviceName, service.metadata.name);
  for (const labels of [service.spec.selector, set.selector.matchLabels]) {
    assert.equal(set.template.metadata.labels, { ...set.template.metadata.labels, ...labels });
  }
});

test("its probes and its metrics are answered on the port that they name, without a token", async () => {
  const folder = await createFolder();
  const METRICS_PORT = String(await findFreePort());
  const { HOST: _, ...rest } = { ...settings, METRICS_HOST: "127.0.0.1", METRICS_PORT } as Record<string, string>;
  const running = await startService("Node", {
    ...rest,
    ...{
      DATABASE_URL: `file:${folder.path}/ledger.db`,
      ADMIN_TOKEN: adminToken,
      SHUTDOWN_DELAY: "0",
      LOG_FORMAT: "text",
    },
  });
  try {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    const probes = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
    assert.ok(probes.every(({ port }) => port === "metrics"));
    const paths = [...probes.map(({ path }) => path), set.template.metadata.annotations["prometheus.io/path"]];
    for (const path of paths) assert.is((await fetch(`http://127.0.0.1:${METRICS_PORT}${path}`)).status, 200, path);
  } finally {
    await running.stop();
    await folder.remove();
  }
});

test.run();
