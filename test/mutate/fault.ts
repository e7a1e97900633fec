/** One small change of the code that a test should notice. `find` stands in the compiled file. */
export interface Fault {
  name: string;
  /** The source, from the root. */
  file: string;
  find: string;
  replace: string;
  /** How often `find` stands in the file: all of these are replaced. 1 if left out. */
  places?: number;
}
