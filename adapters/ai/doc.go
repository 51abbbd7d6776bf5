// Package ai asks language models over HTTP: Ollama, Anthropic, and OpenAI with what is compatible to it. Each request
// is one POST. The messages of a provider are never repeated in errors, since they may hold a part of the key.
package ai
