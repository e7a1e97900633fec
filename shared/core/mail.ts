import type { Transporter } from 'nodemailer';
import type { Config } from './config.js';
import type { Logger } from './log.js';

/** A plain-text e-mail. Its text may contain secrets and is never logged. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /**
   * Returns true once the mail server has accepted the mail; false if no server is configured. Throws if the server
   * rejects the mail or is unreachable.
   */
  send(mail: Mail): Promise<boolean>;
  close(): void;
}

/** Timeout for connecting, for the server's greeting and for each later reply, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** Creates a mailer that uses SMTP. Without `SMTP_URL`, it sends nothing and logs that, without the mail's text. */
export function createMailer(mail: Config['mail'], log: Logger): Mailer {
  if (!mail) return { send: async ({ to, subject }) => notSent(log, to, subject), close: () => undefined };
  let transport: Promise<Transporter> | null = null;
  return {
    async send({ to, subject, text }) {
      transport ??= openTransport(mail);
      await (await transport).sendMail({ to: { name: '', address: to }, subject, text });
      return true;
    },
    close: () => void transport?.then((open) => open.close()),
  };
}

/** Loads nodemailer when the first mail is sent, because many processes never send one. */
async function openTransport({ smtpUrl, from }: NonNullable<Config['mail']>): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport(
    {
      url: smtpUrl.reveal(),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // Mails contain names that users chose, so nothing in them may be loaded as a file or URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
}

function notSent(log: Logger, to: string, subject: string): boolean {
  log.info({ to, subject }, 'no mail server is configured (SMTP_URL): an e-mail was not sent');
  return false;
}

/** Formats a time in a time zone, such as `2026-11-21 13:05 (Africa/Lagos)`. For e-mails; the API uses UTC. */
export function localTime(time: Date, zone: string): string {
  // The Swedish locale formats dates like ISO 8601.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(time)} (${zone})`;
}
