// The service of connect-rpc.mjs, as a compiler of .proto files would describe it.

import { create } from '@bufbuild/protobuf';
import { createFileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { StringValueSchema, file_google_protobuf_wrappers } from '@bufbuild/protobuf/wkt';

const method = (name, clientStreaming, serverStreaming) => ({
  name, clientStreaming, serverStreaming, inputType: '.google.protobuf.StringValue', outputType: '.google.protobuf.StringValue',
});
const file = create(FileDescriptorProtoSchema, {
  name: 'calls.proto', package: 'tests', syntax: 'proto3', dependency: ['google/protobuf/wrappers.proto'],
  service: [{
    name: 'Calls',
    method: [method('Unary', false, false), method('Collect', true, false), method('Count', false, true), method('Echo', true, true), method('Wait', false, false)],
  }],
});
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file_google_protobuf_wrappers.proto, file] }));

/** A method of each kind; messages are strings. */
export const calls = registry.getService('tests.Calls');
export { StringValueSchema };
