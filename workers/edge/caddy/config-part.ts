/** One value that the edge writes into Caddy's configuration. */
export interface ConfigPart {
  /** The keys that lead to the value. */
  path: readonly string[];
  /** Set if the value is an element of a list at `path`: the element with this `@id`. */
  id?: string;
  /** True for an element that comes last in its list, so that other elements match first. */
  last?: boolean;
  /** Null if the path must have no value. */
  value: unknown;
  /** Returns true if the edge wrote the current value and may replace it. If absent, every value may be replaced. */
  ours?: (present: unknown) => boolean;
}
