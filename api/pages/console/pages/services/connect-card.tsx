import type { Service } from '../../api/types.js';
import { CopyButton } from '../../ui/copy.js';
import u from '../../ui/ui.module.css';
import p from './services.module.css';

/** How to connect to a database: by a reference from an application, or by hand inside the private network. */
export function ConnectCard({ service: { name, kind, internalHost } }: { service: Service }) {
  const [key, client, image] =
    kind === 'postgres' ? ['DATABASE_URL', 'psql', 'postgres:18'] : ['REDIS_URL', 'redis-cli -u', 'redis:8'];
  const attach = `rnv db attach ${internalHost} --service my-app`;
  return (
    <section className={u.card}>
      <div className={u.cardHead}>
        <h2>Connect</h2>
      </div>
      <div className={`${u.cardBody} ${u.stack}`}>
        <p>
          <strong>From an application</strong> of the same environment: on its page “Variables”, add <code>{key}</code>{' '}
          with the source “From {name}” and the variable <code>URL</code>. <code>HOST</code>, <code>PORT</code>,{' '}
          <code>USER</code>, <code>PASSWORD</code>
          {kind === 'postgres' ? (
            <>
              {' '}
              and <code>DATABASE</code>
            </>
          ) : null}{' '}
          can be referred to as well. Or run:
        </p>
        <div className={p.command}>
          <code>{attach}</code>
          <CopyButton text={attach} what="the command" />
        </div>
        <p>
          <strong>By hand:</strong> the database has no public address. Services of its environment reach it at{' '}
          <code>{internalHost}</code>. To run a client there, create a cron job with the same reference from an image
          that has the client, such as <code>{image}</code>, with the start command{' '}
          <code>
            {client} "${key}"
          </code>
          , and run it with <code>rnv run</code>.
        </p>
      </div>
    </section>
  );
}
