// Package httpapi is the REST surface: one handler over net/http and huma. The package of every context declares its
// operations on it.
//
// An operation exists only through Handle or Raw with a Route. A Route without summary, operation id, access, error
// codes or example stops the start: an undeclared operation is denied. A request is checked in one order: request id
// and headers, authentication (401), the origin of a browser's write, role and a read-only install (403), query and
// body (400), then the handler's own faults.
//
// Every change has an audit action. A success names its entry in the header Audit-Receipt. A refusal of a known caller
// (403) has an entry of its own; if it cannot be recorded, the answer is 503.
//
// Workers report over the relay with the worker token, which is valid nowhere else. These operations are not changes by
// a user, so the trail has only the entries of the runs.
//
// A caller presents a bearer token, or a browser its session cookie; the header takes precedence. Cookies need TLS or
// loopback unless the install allows them over plain http, and a write with a cookie must come from a page of this
// server.
package httpapi
