/** A value of ours in Caddy's configuration. */
export interface ConfigPart {
  /** The keys that lead to it. */
  path: readonly string[];
  /** The path leads to a list, and ours is its element with this `@id`. */
  id?: string;
  /** null: nothing may be there. */
  value: unknown;
  /** Whether what is there is from us, and may be replaced; without it, whatever is there is. */
  ours?: (present: unknown) => boolean;
}
