/** Options of the commands that wait for a deployment. */
export interface WaitOptions {
  detach?: boolean;
  /** Maximum time to wait, in milliseconds. The work on the platform continues afterwards. */
  timeout: number;
  verbose: boolean;
}
