import { type Static, Type } from 'typebox';
import { described, Strict, Uuid } from '../../http/schema.js';
import { OpeningSchema } from '../shells/schema.js';

export const TunnelBody = Strict({
  port: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 65_535, description: 'By default the one on which the service listens' }),
  ),
  replica: Type.Optional(described(Uuid, 'A replica or a run; by default a ready replica of the live release')),
});
export type TunnelInput = Static<typeof TunnelBody>;

export const TunnelResponse = Strict({ tunnel: Strict(OpeningSchema, 'Tunnel') });
