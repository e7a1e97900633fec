/** Options of the commands that follow a deployment. */
export interface WaitOptions {
  detach?: boolean;
  /** In milliseconds. */
  timeout: number;
  verbose: boolean;
}
