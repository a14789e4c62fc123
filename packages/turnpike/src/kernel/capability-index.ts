import {
  principalKey,
  type AuthorizationRequest,
  type Capability,
  type PrincipalRef,
  type Scope,
} from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";

/** Grants, named by their position in the set. */
type Positions = readonly number[];

const none: Positions = [];

/** A place in the tree of paths. */
interface Node {
  /** Undefined at the ends of paths, which are most nodes. */
  children: Map<string, Node> | undefined;
  exact: Positions;
  descendants: Positions;
}

/** Trees of paths: one for capabilities of every action, and one for each action that is named. */
interface Actions {
  every: Node | undefined;
  named: Map<string, Node>;
}

/** The capabilities of one resource namespace: those that follow the context's owner, and those that name one. */
interface NamespaceIndex {
  anyOwner: Actions;
  owners: Map<string, Actions>;
}

/** Capabilities by resource namespace, owner and action, then by path: a lookup costs the path, not the set. */
export type CapabilityIndex = ReadonlyMap<string, NamespaceIndex>;

/** Indexes the capabilities of every grant: those that carry an act by themselves, and those that need approval. */
export function indexCapabilities(grants: readonly CompiledGrant[]): {
  index: CapabilityIndex;
  guarded: CapabilityIndex;
} {
  const index = new Map<string, NamespaceIndex>();
  const guarded = new Map<string, NamespaceIndex>();
  for (let position = 0; position < grants.length; position += 1) {
    const { capabilities } = (grants[position] as CompiledGrant).grant;
    for (const capability of capabilities)
      insertCapability(capability.approval === undefined ? index : guarded, capability, position);
  }
  return { index, guarded };
}

function insertCapability(index: Map<string, NamespaceIndex>, capability: Capability, position: number): void {
  const { resource, actions, scope } = capability;
  const { anyOwner, owners } = getOrAdd(index, resource.namespace, newNamespaceIndex);
  const byAction = resource.owner ? getOrAdd(owners, principalKey(resource.owner), newActions) : anyOwner;
  for (const action of actions.length === 1 ? actions : new Set(actions))
    insert(treeFor(byAction, action), resource.path, scope, position);
}

/** Positions of the grants with one capability that covers the request alone, ascending, each once. */
export function lookUp(
  index: CapabilityIndex,
  { action, resource }: AuthorizationRequest,
  owner: PrincipalRef,
): Positions {
  const inNamespace = index.get(resource.namespace);
  if (inNamespace === undefined) return none;
  const { anyOwner, owners } = inNamespace;
  let found = coveringIn(anyOwner, action, resource.path, none);
  const own = owners.size === 0 ? undefined : owners.get(principalKey(owner));
  if (own !== undefined) found = coveringIn(own, action, resource.path, found);
  return isAscending(found) ? found : [...new Set(found)].toSorted((one, other) => one - other);
}

function coveringIn({ every, named }: Actions, action: string, path: readonly string[], before: Positions): Positions {
  return covering(named.get(action), path, covering(every, path, before));
}

/** Adds the positions that cover the path in this tree to those found before. Mostly it returns the list of one node unchanged. */
function covering(root: Node | undefined, path: readonly string[], before: Positions): Positions {
  let node = root;
  if (node === undefined) return before;
  let found = before;
  for (let depth = 0; depth < path.length; depth += 1) {
    found = joined(found, node.descendants);
    node = node.children?.get(path[depth] as string);
    if (node === undefined) return found;
  }
  return joined(joined(found, node.exact), node.descendants);
}

function joined(one: Positions, other: Positions): Positions {
  if (other.length === 0) return one;
  return one.length === 0 ? other : [...one, ...other];
}

function isAscending(found: Positions): boolean {
  return found.length < 2 || found.every((position, place) => place === 0 || position > (found[place - 1] as number));
}

/** True when `accepts` returns true for one of the grants that cover some place at or below the ceiling. */
export function someWithin(
  index: CapabilityIndex,
  { action, resource }: AuthorizationRequest,
  owner: PrincipalRef,
  accepts: (position: number) => boolean,
): boolean {
  const inNamespace = index.get(resource.namespace);
  if (inNamespace === undefined) return false;
  const { anyOwner, owners } = inNamespace;
  return [anyOwner, owners.get(principalKey(owner))].some(
    (actions) =>
      someInTree(actions?.named.get(action), resource.path, accepts) ||
      someInTree(actions?.every, resource.path, accepts),
  );
}

function someInTree(root: Node | undefined, path: readonly string[], accepts: (position: number) => boolean): boolean {
  let node = root;
  if (node === undefined) return false;
  for (const segment of path) {
    if (node.descendants.some(accepts)) return true;
    node = node.children?.get(segment);
    if (node === undefined) return false;
  }
  return someBelow(node, accepts);
}

function someBelow(node: Node, accepts: (position: number) => boolean): boolean {
  if (node.exact.some(accepts) || node.descendants.some(accepts)) return true;
  for (const child of node.children?.values() ?? []) if (someBelow(child, accepts)) return true;
  return false;
}

function treeFor(actions: Actions, action: string): Node {
  return action === "*" ? (actions.every ??= newNode()) : getOrAdd(actions.named, action, newNode);
}

function insert(root: Node, path: readonly string[], scope: Scope, position: number): void {
  let node = root;
  for (const segment of path) node = getOrAdd((node.children ??= new Map()), segment, newNode);
  const { [scope]: there } = node;
  if (there === none) node[scope] = [position];
  else (there as number[]).push(position);
}

function getOrAdd<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function newNamespaceIndex(): NamespaceIndex {
  return { anyOwner: newActions(), owners: new Map() };
}

function newActions(): Actions {
  return { every: undefined, named: new Map() };
}

function newNode(): Node {
  return { children: undefined, exact: none, descendants: none };
}
