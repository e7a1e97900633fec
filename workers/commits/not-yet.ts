/** Thrown if it is too early to decide: the repository cannot be read, or does not show the pushed commit yet. */
export class NotYet extends Error {}
