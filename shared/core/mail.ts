import type { Transporter } from 'nodemailer';
import type { Config } from './config.js';
import type { Logger } from './log.js';

/** The text may contain secrets and is never logged. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  /** Returns false if no mail server is configured. Throws if the server rejects the mail or is unreachable. */
  send(mail: Mail): Promise<boolean>;
  close(): void;
}

const TIMEOUT_MS = 10_000;

/** Creates a mailer. Without `SMTP_URL`, it only logs that a mail was not sent. */
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

/** Loads nodemailer on first use, because many processes never send a mail. */
async function openTransport({ smtpUrl, from }: NonNullable<Config['mail']>): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport(
    {
      url: smtpUrl.reveal(),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      // Mails contain names that users chose, so nodemailer must not load a file or URL that a name looks like.
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

/** Formats a time in a time zone, such as `2026-11-21 13:05 (Africa/Lagos)`. */
export function localTime(time: Date, zone: string): string {
  // The Swedish locale formats dates like ISO 8601.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(time)} (${zone})`;
}
