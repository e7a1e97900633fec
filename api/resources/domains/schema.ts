import { type Static, Type } from 'typebox';
import { DOMAIN_STATUSES, Hostname } from '../../../shared/domains/model.js';
import { described, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const DomainSchema = Strict(
  {
    id: Uuid,
    hostname: Type.String(),
    status: oneOf('DomainStatus', DOMAIN_STATUSES),
    /** The DNS record that the owner of the name must create. */
    verification: Strict({ type: Type.Literal('TXT'), name: Type.String(), value: Type.String() }),
    /** The result of the last check and what to do next; empty if there is nothing to do. */
    detail: Type.String(),
    /** Optional, because the specification does not have this field. */
    redirectTo: Type.Optional(Type.String({ description: 'The host name to which all requests are redirected' })),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Domain',
);
export type DomainView = Static<typeof DomainSchema>;

const RedirectTo = Nullable(
  described(Hostname, 'one line: a host name. All requests are redirected to it; null ends that'),
);
export const CreateDomainBody = Strict({ hostname: Hostname, redirectTo: Type.Optional(RedirectTo) });
export const UpdateDomainBody = Strict({ redirectTo: RedirectTo });
export const DomainResponse = Strict({ domain: DomainSchema });
export const DomainListResponse = Strict({ domains: Type.Array(DomainSchema), page: PageSchema });
