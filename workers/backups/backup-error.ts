/** A backup or a restore cannot be done, for a reason that a person can act on. Trying again at once would not help. */
export class BackupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BackupError';
  }
}
