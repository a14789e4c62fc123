import { setTimeout as delay } from "node:timers/promises";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import {
  appendCall,
  effectsIn,
  makeEffectTenant,
  startEffectHost,
  type HostSettings,
  type PlantedBug,
} from "./effect-host.ts";
import { makeFolder, type HostProcess } from "./host-process.ts";
import { makeCredential, makeGrant } from "./host-world.ts";
import { problemsIn } from "./load-check.ts";

/** A call, and what came of it. */
export interface Sent {
  id: string;
  tenant: EffectTenant;
  /** Lost with its connection, or not there after so long that no one waits any more. */
  answer: Answer | "lost" | "late";
}

export interface EffectTenant {
  name: string;
  token: string;
  maxUses: number;
}

/** Access that a caller was told is revoked. */
export interface Revoked {
  what: string;
  tenant: EffectTenant;
}

/** What was asked of the hosts of one database, and what they said. */
export interface LoadRecord {
  readonly sent: Sent[];
  /** The grants whose issue was acknowledged. */
  readonly issued: string[];
  readonly revoked: Revoked[];
  /** Calls whose results were told and could not be stored before the process ended: they may be interrupted. */
  readonly unstored: Set<Sent>;
  /** What should not have been. */
  readonly wrong: string[];
}

/** Starts a host with a folder for its data. */
type StartHost = (folder: string, settings: HostSettings) => Promise<HostProcess>;

const workers = 6;
/** No one waits longer for an answer, whatever happens to the database; the documented limit is half of it. */
const patienceMs = 60_000;

/** Hosts on one database, and calls whose effects are counted, grants and revocations in all of them at once. */
export class LoadedHosts {
  readonly folder: string = makeFolder();
  readonly record: LoadRecord = { sent: [], issued: [], revoked: [], unstored: new Set(), wrong: [] };
  readonly tenants: EffectTenant[] = [];
  readonly #settings: HostSettings;
  readonly bug: PlantedBug | undefined;
  readonly #hosts: HostProcess[] = [];
  #rounds = 0;
  #ending = new AbortController();
  #load: Promise<unknown> = Promise.resolve();

  private constructor(settings: HostSettings, bug: PlantedBug | undefined) {
    [this.#settings, this.bug] = [settings, bug];
  }

  /** Starts hosts, with a bug when told, or as told. One tenant may do so much; another has plenty. */
  static async start(
    count: number,
    settings: HostSettings,
    maxUses: number,
    bug?: PlantedBug,
    start?: StartHost,
  ): Promise<LoadedHosts> {
    const loaded = new LoadedHosts(settings, bug);
    // The first one makes the files that all of them share.
    for (let place = 0; place < count; place += 1) await loaded.startHost(settings, start);
    const { host } = loaded;
    for (const [name, most] of [
      ["bounded", maxUses],
      ["plenty", 1_000_000],
    ] as const)
      loaded.tenants.push({
        name,
        maxUses: most,
        token: await makeEffectTenant(host, { tenant: name, maxUses: most }),
      });
    return loaded;
  }

  /** One of the hosts. */
  get host(): HostProcess {
    return this.hostAt(0);
  }

  hostAt(place: number): HostProcess {
    return this.#hosts[place % this.#hosts.length] as HostProcess;
  }

  async startHost(
    settings: HostSettings = this.#settings,
    start: StartHost = (folder, all) => startEffectHost(folder, all, this.bug),
  ): Promise<void> {
    this.#hosts.push(await start(this.folder, settings));
  }

  /** Kills a host, as if it had never known of it. */
  async kill(place: number): Promise<void> {
    const [host] = this.#hosts.splice(place % this.#hosts.length, 1);
    await host?.stop("SIGKILL");
  }

  async stop(): Promise<void> {
    for (const host of this.#hosts) await host.stop();
  }

  /** The tenant that has plenty. */
  get plenty(): EffectTenant {
    return this.tenants[1] as EffectTenant;
  }

  /** Calls a tool whose result waits for a gate of the name of the call. */
  callHeld({ url }: HostProcess, id: string): Promise<Answer> {
    const { name, token } = this.plenty;
    const body = appendCall(id, "t", { line: `${name} ${id}`, until: `gate-${id}` });
    return ask(url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body });
  }

  /** Begins to call all hosts, each worker one after the other. */
  startLoad(): void {
    this.#rounds += 1;
    this.#ending = new AbortController();
    const round = `round-${this.#rounds}`;
    const calling = Array.from({ length: workers }, (_, worker) => this.#call(this.hostAt(worker), round, worker));
    this.#load = Promise.all([...calling, this.#issue(this.host, round), this.#revoke(round)]);
  }

  /** Ends the load, and waits for the answers to what is under way. */
  async stopLoad(): Promise<void> {
    this.#ending.abort();
    await this.#load;
  }

  /** Waits for so many more answers, of those that fit. */
  async answers(count: number, fits: (outcome: string) => boolean = () => true): Promise<void> {
    const { sent } = this.record;
    const from = sent.length;
    await eventually(() => {
      const seen = sent.slice(from).filter((each) => fits(outcomeOf(each))).length;
      if (seen < count) throw new Error(`There are ${seen} of ${count} answers.`);
    }, 3 * patienceMs);
  }

  /** Everything that does not hold, whatever happened before. The hosts have to work. */
  async check(): Promise<string[]> {
    return [...this.record.wrong, ...(await problemsIn(this))];
  }

  /** Calls a tool that leaves an effect. */
  async invoke({ url }: HostProcess, { name, token }: EffectTenant, id: string): Promise<Sent["answer"]> {
    const body = appendCall(id, "t", { line: `${name} ${id}` });
    const answered = ask(url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body });
    const patience = new AbortController();
    const late = delay(patienceMs, "late" as const, { signal: patience.signal });
    try {
      return await Promise.race([answered, late]);
    } catch (error) {
      if (String(error).includes("API description")) this.record.wrong.push(String(error));
      return "lost";
    } finally {
      patience.abort();
      late.catch(() => {});
    }
  }

  async #call(host: HostProcess, round: string, worker: number): Promise<void> {
    for (let place = 0; !this.#ending.signal.aborted; place += 1) {
      const tenant = this.tenants[(worker + place) % this.tenants.length] as EffectTenant;
      const id = `${round}-${worker}-${place}`;
      const answer = await this.invoke(host, tenant, id);
      this.record.sent.push({ id, tenant, answer });
      if (typeof answer === "string") return;
      // The caller that is refused because something is away tries again a little later.
      if (answer.status >= 500) await delay(50);
    }
  }

  /** Issues grants, whose ids are recorded once they are acknowledged. */
  async #issue(host: HostProcess, round: string): Promise<void> {
    for (let place = 0; !this.#ending.signal.aborted; place += 1) {
      const id = `${round}-${place}`;
      const wish = { id, tenant: "issued", resource: `shelf/${id}`, actions: ["read"] };
      await makeGrant(host, wish).then(
        () => this.record.issued.push(id),
        () => delay(20),
      );
    }
  }

  /** Makes access, revokes it through one host and tries it on another. */
  async #revoke(round: string): Promise<void> {
    const [here, there] = [this.host, this.hostAt(1)];
    for (let place = 0; !this.#ending.signal.aborted; place += 1) {
      const name = `${round}-${place}`;
      try {
        const isGrant = this.record.revoked.length % 2 === 0;
        const revoked = await (isGrant ? revokedGrant(here, name) : revokedCredential(here, name));
        this.record.revoked.push(revoked);
        await this.tryRevoked(there, revoked, `${name}-after`);
      } catch {
        await delay(20);
      }
    }
  }

  /** What was revoked must not work. */
  async tryRevoked(host: HostProcess, { what, tenant }: Revoked, id: string): Promise<void> {
    const answer = await this.invoke(host, tenant, id);
    if (outcomeOf({ answer }) === "succeeded" || effectsIn(this.folder).includes(`${tenant.name} ${id}`))
      this.record.wrong.push(`${what} was revoked, and ${id} succeeded with it`);
  }
}

/** A credential that a caller was told is revoked. */
async function revokedCredential(host: HostProcess, name: string): Promise<Revoked> {
  const { id, token } = await makeCredential(host, { tenant: "plenty" });
  await mustDo(host, "/admin/v1/credentials/revoke", { id });
  return { what: `the credential ${id}`, tenant: { name: `revoked-${name}`, token, maxUses: 0 } };
}

/** The token of a caller who was told that their grant is revoked. */
async function revokedGrant(host: HostProcess, name: string): Promise<Revoked> {
  const tenant = `tenant-${name}`;
  const token = await makeEffectTenant(host, { tenant });
  await mustDo(host, "/admin/v1/grants/revoke", { namespaceId: tenant, id: "effects" });
  return { what: `the grant of ${tenant}`, tenant: { name: tenant, token, maxUses: 0 } };
}

async function mustDo(host: HostProcess, path: string, body: object): Promise<void> {
  const { status, text } = await ask(host.url, path, { token: host.operatorToken(), body });
  if (status !== 200) throw new Error(`Not done: ${text}`);
}

/** What an answer says: `succeeded`, `denied`, a code, or that there is none. */
export function outcomeOf({ answer }: Pick<Sent, "answer">): string {
  if (typeof answer === "string") return answer;
  const { status, error } = answer.body as { status?: string; error?: { code: string } };
  return status === "succeeded" ? status : (error?.code ?? `${answer.status}`);
}

/** Whether it was refused for another reason than that no use was left. */
export function isRefusal(outcome: string): boolean {
  return outcome !== "succeeded" && outcome !== "grant_exhausted";
}
