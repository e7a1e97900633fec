import { type Static, Type } from 'typebox';
import { DOMAIN_STATUSES, Hostname } from '../../../shared/domains/model.js';
import { oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const DomainSchema = Strict(
  {
    id: Uuid,
    hostname: Type.String(),
    status: oneOf('DomainStatus', DOMAIN_STATUSES),
    /** The DNS record that the owner of the name must create. */
    verification: Strict({ type: Type.Literal('TXT'), name: Type.String(), value: Type.String() }),
    /** The result of the last check and what to do next; empty if nothing is to be done. */
    detail: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Domain',
);
export type DomainView = Static<typeof DomainSchema>;

export const CreateDomainBody = Strict({ hostname: Hostname });
export const DomainResponse = Strict({ domain: DomainSchema });
export const DomainListResponse = Strict({ domains: Type.Array(DomainSchema), page: PageSchema });
