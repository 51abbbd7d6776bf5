// Package egress sends requests to addresses from configuration or from users, and prevents that they reach the
// machine's own network.
//
// A Policy checks the address when it is dialled. The name is resolved by then and is not resolved again, so a name
// that changes its answer gains nothing. An IPv6 address that contains an IPv4 address is checked as both. Hosts that
// are numbers but not IP addresses, such as 0x7f.1 or 2130706433, are refused before they are resolved, since some
// resolvers accept them.
//
// Proxies of the environment are not used: the check would apply to the address of the proxy.
package egress
