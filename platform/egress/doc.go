// Package egress speaks to addresses that come from configuration or from users without becoming their way into the
// machine's own network.
//
// A Policy judges the address that is dialled, at the moment of the dial: the name was resolved by then and is never
// resolved again, so that a name that changes its answer gains nothing. Forms that carry an IPv4 address inside of an
// IPv6 one are judged by both. Hosts that are numbers and no address, such as 0x7f.1 or 2130706433, are refused before
// any resolver sees them, since some resolvers make addresses of them.
//
// Proxies from the environment are not used: behind a proxy the address that is dialled is the proxy's, and the check
// would judge the wrong one.
package egress
