/** One value that the edge writes into Caddy's configuration. */
export interface ConfigPart {
  /** The keys of the path to the value. */
  path: readonly string[];
  /** Present if the value is an element of the list at `path`: the element's `@id`. */
  id?: string;
  /** True for an element that must be last in its list, so that other elements match first. */
  last?: boolean;
  /** The value; null if nothing must be at the path. */
  value: unknown;
  /** Returns true if the current value is the edge's and may be replaced. If absent, any value may be replaced. */
  ours?: (present: unknown) => boolean;
}
