import {
  principalKey,
  type AuthorizationRequest,
  type Capability,
  type PrincipalRef,
  type Scope,
} from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";

/** A place in the tree of paths; grants are named by their position in the set. */
interface Node {
  children: Map<string, Node>;
  exact: number[];
  descendants: number[];
}

/** Trees of paths by action. */
type Actions = Map<string, Node>;

/** The capabilities of one resource namespace: those that follow the context's owner, and those that name one. */
interface NamespaceIndex {
  anyOwner: Actions;
  owners: Map<string, Actions>;
  /** `anyOwner` as the list it mostly is alone in. */
  openOnly: readonly [Actions];
}

/** Capabilities by resource namespace, owner and action, then by path: a look-up costs the path, not the set. */
export type CapabilityIndex = ReadonlyMap<string, NamespaceIndex>;

/** Indexes the capabilities of every grant that need approval, or those that do not. */
export function indexCapabilities(
  grants: readonly CompiledGrant[],
  approval: Capability["approval"] = undefined,
): CapabilityIndex {
  const index = new Map<string, NamespaceIndex>();
  grants.forEach(({ grant }, position) => {
    for (const { resource, actions, scope, approval: needed } of grant.capabilities) {
      if (needed !== approval) continue;
      const { anyOwner, owners } = getOrAdd(index, resource.namespace, newNamespaceIndex);
      const byAction = resource.owner ? getOrAdd(owners, principalKey(resource.owner), newActions) : anyOwner;
      for (const action of new Set(actions))
        insert(getOrAdd(byAction, action, newNode), resource.path, scope, position);
    }
  });
  return index;
}

/** Positions of the grants with one capability that covers the request alone, ascending, each once. */
export function lookUp(
  index: CapabilityIndex,
  { action, resource }: AuthorizationRequest,
  owner: PrincipalRef,
): number[] {
  const found: number[] = [];
  const inNamespace = index.get(resource.namespace);
  if (inNamespace === undefined) return found;
  for (const actions of actionsFor(inNamespace, owner)) {
    collectCovering(actions.get(action), resource.path, found);
    if (action !== "*") collectCovering(actions.get("*"), resource.path, found);
  }
  return found.length > 1 ? [...new Set(found)].toSorted((one, other) => one - other) : found;
}

/** True when `accepts` likes one of the grants that cover some place at or below the ceiling. */
export function someWithin(
  index: CapabilityIndex,
  { action, resource }: AuthorizationRequest,
  owner: PrincipalRef,
  accepts: (position: number) => boolean,
): boolean {
  const inNamespace = index.get(resource.namespace);
  if (inNamespace === undefined) return false;
  return actionsFor(inNamespace, owner).some(
    (actions) =>
      someInTree(actions.get(action), resource.path, accepts) || someInTree(actions.get("*"), resource.path, accepts),
  );
}

/** What follows the context's owner, and what names this one. */
function actionsFor({ openOnly, anyOwner, owners }: NamespaceIndex, owner: PrincipalRef): readonly Actions[] {
  const own = owners.size === 0 ? undefined : owners.get(principalKey(owner));
  return own === undefined ? openOnly : [anyOwner, own];
}

function collectCovering(root: Node | undefined, path: readonly string[], found: number[]): void {
  let node = root;
  if (node === undefined) return;
  for (const segment of path) {
    for (const position of node.descendants) found.push(position);
    node = node.children.get(segment);
    if (node === undefined) return;
  }
  for (const position of node.exact) found.push(position);
  for (const position of node.descendants) found.push(position);
}

function someInTree(root: Node | undefined, path: readonly string[], accepts: (position: number) => boolean): boolean {
  let node = root;
  if (node === undefined) return false;
  for (const segment of path) {
    if (node.descendants.some(accepts)) return true;
    node = node.children.get(segment);
    if (node === undefined) return false;
  }
  return someBelow(node, accepts);
}

function someBelow(node: Node, accepts: (position: number) => boolean): boolean {
  if (node.exact.some(accepts) || node.descendants.some(accepts)) return true;
  for (const child of node.children.values()) if (someBelow(child, accepts)) return true;
  return false;
}

function insert(root: Node, path: readonly string[], scope: Scope, position: number): void {
  let node = root;
  for (const segment of path) node = getOrAdd(node.children, segment, newNode);
  node[scope].push(position);
}

function getOrAdd<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function newNamespaceIndex(): NamespaceIndex {
  const anyOwner = newActions();
  return { anyOwner, owners: new Map(), openOnly: [anyOwner] };
}

function newActions(): Actions {
  return new Map();
}

function newNode(): Node {
  return { children: new Map(), exact: [], descendants: [] };
}
