// Package httpapi is the REST surface: one handler over net/http and huma that every context's folder declares its
// operations on.
//
// An operation exists only through Handle or Raw with a Route, and a Route that lacks its summary, operation id,
// access, error codes or example stops the start: what nobody declared is denied. A request is checked in one order:
// request id and headers, authentication (401), role (403), body and query (400), then the handler's own faults.
package httpapi
