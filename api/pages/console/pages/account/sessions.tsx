import { remove } from '../../api/api-client.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items, Row } from '../../ui/card.js';
import { ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';

export function Sessions() {
  const query = useGet('/sessions', {});
  const end = useWrite(
    (sessionId: string) => remove('/sessions/{sessionId}', { path: { sessionId } }),
    () => toast('The session has ended'),
  );
  const endOthers = useWrite(
    () => remove('/sessions', {}),
    () => toast('Your other sessions have ended'),
  );
  return (
    <Card
      title="Sessions"
      actions={
        <Button small pending={endOthers.isPending} onClick={() => endOthers.mutate()}>
          End all others
        </Button>
      }
    >
      {end.error ? <ErrorNotice error={end.error} /> : null}
      {endOthers.error ? <ErrorNotice error={endOthers.error} /> : null}
      <Loaded query={query} skeleton={<Skeleton rows={2} height={56} />}>
        {({ sessions }) => (
          <Items items={sessions}>
            {({ id, userAgent, origin, createdAt, seenAt, current }) => (
              <Row
                title={programOf(userAgent)}
                detail={
                  <>
                    {origin}, signed in <Ago at={createdAt} />, used <Ago at={seenAt} />
                  </>
                }
              >
                {current ? (
                  <Status tone="good">This session</Status>
                ) : (
                  <Button
                    small
                    aria-label={`End the session of ${programOf(userAgent)}`}
                    onClick={() => end.mutate(id)}
                  >
                    End
                  </Button>
                )}
              </Row>
            )}
          </Items>
        )}
      </Loaded>
    </Card>
  );
}

const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Macintosh', 'Linux'];
const BROWSERS = ['Firefox', 'Edg', 'Chrome', 'Safari'];
const NAMES: Readonly<Record<string, string>> = { Edg: 'Edge', Macintosh: 'macOS' };

/** Formats a User-Agent for people, such as `Firefox on Windows`. */
function programOf(userAgent: string): string {
  const find = (words: readonly string[]) => {
    const word = words.find((each) => userAgent.includes(each));
    return word === undefined ? undefined : (NAMES[word] ?? word);
  };
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  if (browser !== undefined && system !== undefined) return `${browser} on ${system}`;
  return userAgent === '' ? 'Unknown program' : userAgent.slice(0, 80);
}
