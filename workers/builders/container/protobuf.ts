/** One field of a protobuf message: a number, or bytes for what has a length (strings, messages, bytes). */
export type WireField = { number: number } & ({ value: bigint } | { bytes: Buffer });

/**
 * Reads the fields of a protobuf message in their order; what a field means is the caller's to know. Throws `RangeError`
 * where the bytes are no message.
 */
export function* readFields(message: Buffer): Generator<WireField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number of the message does not end');
  };
  const take = (length: number): Buffer => {
    if (at + length > message.length) throw new RangeError('a field of the message is cut off');
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = varint();
    const number = Number(key >> 3n);
    switch (Number(key & 7n)) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8).readBigUInt64LE() };
        break;
      case 2:
        yield { number, bytes: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: BigInt(take(4).readUInt32LE()) };
        break;
      default:
        throw new RangeError('the message has a field of an unknown type');
    }
  }
}
