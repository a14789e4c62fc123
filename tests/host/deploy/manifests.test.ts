import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { environmentName } from "../../../packages/host/src/compose/config-variables.ts";
import { settingKeys } from "../../../packages/host/src/compose/config.ts";
import { postgresMigrations } from "../../../packages/host/src/storage/migrations/postgres.ts";
import { readStages, textOf } from "../../support/image.ts";
import { repository } from "../../support/repository.ts";
import { deployment, manifest, readCompose, readManifests, readUnit } from "./manifests.ts";

const read = (file: string): string => readFileSync(join(repository, file), "utf8");
const [build = [], last = []] = readStages(join(repository, "deploy/Containerfile"));
const { version } = JSON.parse(read("packages/host/package.json")) as { version: string };
const imageName = `turnpike-host:${version}`;

test("every TURNPIKE_ variable of what is deployed is a setting", () => {
  const known = new Set(settingKeys().map(environmentName));
  for (const file of ["Containerfile", "compose.yaml", "kubernetes.yaml", "turnpike.service", "healthcheck.js"]) {
    const names = read(`deploy/${file}`).match(/\bTURNPIKE_[A-Z_]*[A-Z]/g) ?? [];
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  }
});

test("what is deployed names this version", () => {
  for (const file of ["Containerfile", "compose.yaml", "kubernetes.yaml", "turnpike.service"]) {
    const versions =
      read(`deploy/${file}`).match(/(?<=turnpike(-host)?[:-])\d+\.\d+\.\d+[\w.-]*?(?=\.tgz|\s|$)/gm) ?? [];
    expect(new Set(versions)).toEqual(new Set([version]));
  }
});

test("the image is based on the Node that is tried, by a whole version", () => {
  const tried = JSON.parse(read("checks/package.json")) as { optionalDependencies: Record<string, string> };
  const [, node] = /@([\d.]+)$/.exec(tried.optionalDependencies["node24-linux-x64"] ?? "") ?? [];
  const base = `node:${node}-bookworm-slim`;
  expect([build, last].map((stage) => textOf(stage, "FROM"))).toEqual([`${base} AS build`, base]);
});

test("the image runs as an unprivileged user, with a volume for its data, and checks its health without a shell", () => {
  expect(textOf(last, "USER")).toBe("1000:1000");
  expect(textOf(last, "VOLUME")).toBe("/var/lib/turnpike");
  expect(textOf(last, "WORKDIR")).toBe("/var/lib/turnpike");
  expect(textOf(last, "HEALTHCHECK")).toMatch(/ CMD \["node", /);
  expect(textOf(last, "ENV")).not.toContain("INSECURE");
});

test("the image installs the locked versions, runs no script of a package, and no developer's files reach it", () => {
  const installs = build.filter(({ word, text }) => word === "RUN" && text.includes("npm "));
  expect(installs).toHaveLength(2);
  for (const { text } of installs) expect(text).toMatch(/^npm ci --ignore-scripts/);
  expect(installs[1]?.text).toContain("--omit=dev");
  const ignored = read(".dockerignore").split("\n");
  expect(ignored[1]).toBe("*");
  expect(ignored).toEqual(expect.arrayContaining(["**/node_modules", "**/.turnpike", "**/.env*"]));
});

test("the compose file publishes nothing beyond this machine, and the database not at all", () => {
  const { services, networks } = readCompose();
  expect(services.turnpike.ports).toEqual(["127.0.0.1:8787:8787"]);
  expect(services.postgres.ports).toBeUndefined();
  expect(services.postgres.networks).toEqual(["back"]);
  expect(networks["back"]).toEqual({ internal: true });
});

test("the compose file has its secret in a file that is not in the repository, and in no variable", () => {
  const { services, secrets } = readCompose();
  expect(secrets).toEqual({ "postgres-password": { file: "secrets/postgres-password" } });
  expect(read(".gitignore").split("\n")).toContain("deploy/secrets/");
  for (const { environment } of Object.values(services)) {
    const named = Object.entries(environment).filter(([name]) => /PASSWORD|SECRET|TOKEN/.test(name));
    for (const [name, value] of named)
      expect([name, value]).toEqual([expect.stringMatching(/_FILE$/), expect.stringMatching(/^\/run\/secrets\//)]);
  }
});

test("the compose file starts the host when the database is healthy, read-only and without capabilities", () => {
  const { turnpike, postgres } = readCompose().services;
  expect(turnpike).toMatchObject({
    image: imageName,
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    depends_on: { postgres: { condition: "service_healthy" } },
    volumes: ["turnpike-data:/var/lib/turnpike"],
  });
  expect(postgres.healthcheck?.test).toContain("pg_isready");
  expect(postgres.image).toMatch(/^postgres:\d+\.\d+-/);
});

test("the Deployment fits the restricted policy that its namespace enforces", () => {
  const { pod } = deployment();
  expect(manifest("Namespace").metadata.labels).toEqual({ "pod-security.kubernetes.io/enforce": "restricted" });
  expect(pod.securityContext).toMatchObject({
    runAsNonRoot: true,
    runAsUser: Number(textOf(last, "USER").split(":")[0]),
    seccompProfile: { type: "RuntimeDefault" },
  });
  expect(pod.containers[0].securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
});

test("the Deployment runs two of this image, takes the database from the Secret, and is probed where it listens", () => {
  const { replicas, pod, probes } = deployment();
  const [container] = pod.containers;
  expect([replicas, container.image]).toEqual([2, imageName]);
  expect(container.ports).toEqual([{ name: "http", containerPort: Number(textOf(last, "EXPOSE")) }]);
  expect(probes).toEqual(["/health", "/health", "/ready"].map((path) => ({ path, port: "http" })));
  const database = container.env.find(({ name }) => name === "TURNPIKE_DATABASE");
  expect(database?.valueFrom?.secretKeyRef).toEqual({ name: "turnpike", key: "database-url" });
  expect(Object.keys(manifest("Secret").stringData ?? {})).toEqual(["database-url", "audit-key.pem"]);
  // What it may take to stop: the pause before, limits.shutdownMs, and a little.
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(5 + 30);
});

test("pods are replaced one after the other only if the version before may serve beside this one", () => {
  const { strategy } = manifest("Deployment").spec as { strategy: { type: string } };
  const mayServe = postgresMigrations.at(-1)?.allowsPrevious;
  expect(strategy.type).toBe(mayServe === true ? "RollingUpdate" : "Recreate");
});

test("Service, budget and policy of Kubernetes select the pods of the Deployment", () => {
  const labels = { "app.kubernetes.io/name": "turnpike" };
  expect(manifest("Deployment").spec).toMatchObject({
    selector: { matchLabels: labels },
    template: { metadata: { labels } },
  });
  expect(manifest("Service").spec).toMatchObject({ selector: labels, ports: [{ targetPort: "http" }] });
  expect(manifest("PodDisruptionBudget").spec).toEqual({ minAvailable: 1, selector: { matchLabels: labels } });
  expect(manifest("NetworkPolicy").spec).toMatchObject({
    podSelector: { matchLabels: labels },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ ports: [{ protocol: "TCP", port: 8787 }] }],
  });
  const names = readManifests().map(({ metadata }) => metadata.namespace ?? metadata.name);
  expect(new Set(names)).toEqual(new Set(["turnpike"]));
});

test("the systemd unit has a user and a folder of its own, and gives the host time to stop", () => {
  expect(readUnit()).toMatchObject({
    DynamicUser: "yes",
    StateDirectory: "turnpike",
    ProtectSystem: "strict",
    NoNewPrivileges: "yes",
    CapabilityBoundingSet: "",
    TimeoutStopSec: "40",
  });
});
