// Package gotemplate executes templates in the language of text/template over JSON documents.
//
// Its boundary: values that encoding/json decodes, which have no methods to call. That is why it exists: a program that
// executes templates with text/template keeps every exported method of every type that it converts to an interface,
// which makes the binary a tenth larger (ADR 0091).
package gotemplate
