"""The wire: job files, commands and events, modelled once. Schemas, AsyncAPI and OpenAPI are generated from here."""
