/** Options of the commands that wait for a deployment. */
export interface WaitOptions {
  detach?: boolean;
  /** In milliseconds. */
  timeout: number;
  verbose: boolean;
}
