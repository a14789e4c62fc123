import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { repository } from "../../support/repository.ts";

const read = (file: string): string => readFileSync(join(repository, "deploy", file), "utf8");

/** A service of the compose file, as far as tests read it. */
interface ComposeService {
  image: string;
  entrypoint: string[];
  command: string[];
  environment: Record<string, string>;
  ports?: string[];
  networks: string[];
  secrets: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt: string[];
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  volumes: string[];
}

export interface Compose {
  services: Record<"turnpike" | "postgres", ComposeService>;
  networks: Record<string, { internal?: boolean } | null>;
  secrets: Record<string, { file: string }>;
}

export function readCompose(): Compose {
  return parse(read("compose.yaml")) as Compose;
}

/** An object of Kubernetes. */
export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: unknown;
  stringData?: Record<string, string>;
}

export function readManifests(): Manifest[] {
  return parseAllDocuments(read("kubernetes.yaml")).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

/** The only object of a kind. */
export function manifest(kind: string): Manifest {
  const [found, ...more] = readManifests().filter((object) => object.kind === kind);
  if (found === undefined || more.length > 0) throw new Error(`Expected one ${kind}.`);
  return found;
}

interface Probe {
  httpGet: { path: string; port: string };
}

export interface PodSpec {
  automountServiceAccountToken: boolean;
  enableServiceLinks: boolean;
  securityContext: unknown;
  terminationGracePeriodSeconds: number;
  containers: [
    {
      image: string;
      args: string[];
      ports: [{ name: string; containerPort: number }];
      env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
      securityContext: unknown;
      startupProbe: Probe;
      livenessProbe: Probe;
      readinessProbe: Probe;
    },
  ];
}

/** What the Deployment starts: its pod, the variables that have a value there, and where it is probed. */
export function deployment(): {
  replicas: number;
  pod: PodSpec;
  env: Record<string, string>;
  probes: { path: string; port: string }[];
} {
  const { replicas, template } = manifest("Deployment").spec as { replicas: number; template: { spec: PodSpec } };
  const [container] = template.spec.containers;
  return {
    replicas,
    pod: template.spec,
    env: Object.fromEntries(container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    probes: [container.startupProbe, container.livenessProbe, container.readinessProbe].map(({ httpGet }) => httpGet),
  };
}

/** The settings of the systemd unit by their names; of one that is given twice, the last. */
export function readUnit(): Record<string, string> {
  return Object.fromEntries(
    [...read("turnpike.service").matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
}
