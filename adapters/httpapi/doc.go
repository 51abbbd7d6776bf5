// Package httpapi is the REST surface: one handler over net/http and huma that every context's folder declares its
// operations on.
//
// An operation exists only through Handle or Raw with a Route, and a Route that lacks its summary, operation id,
// access, error codes or example stops the start: what nobody declared is denied. A request is checked in one order:
// request id and headers, authentication (401), the origin of a browser's write, role and a read-only install (403),
// query and body (400), then the handler's own faults.
//
// What changes something has an audit action. A success names the entry that it made in the header Audit-Receipt, and
// what a known caller is refused (403) has an entry of its own, without which the answer is 503.
//
// What workers report over the relay they prove with the worker token, which is nothing anywhere else: those
// operations are no change that somebody asked for, and the trail has the entries of the runs alone.
//
// A caller presents a bearer token or, a browser, its session cookie, which a header beats. Cookies are kept to TLS
// and to loopback unless the install allows them in clear, and a write with one must come from a page of this server.
package httpapi
