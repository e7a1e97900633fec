/** One value that the edge writes into Caddy's configuration. */
export interface ConfigPart {
  /** The keys that lead to it. */
  path: readonly string[];
  /** Set if the path leads to a list. The edge's element is the one with this `@id`. */
  id?: string;
  /** True for an element that comes last in its list, so that other elements match first. */
  last?: boolean;
  /** Null if the path must have no value. */
  value: unknown;
  /** Returns true if the edge wrote the present value and may replace it. If absent, every value may be replaced. */
  ours?: (present: unknown) => boolean;
}
