// Package deliver takes deliveries that are due and tries them, several at once.
//
// A delivery is booked before it is tried, and the try is counted then. A server that dies leaves it to whoever takes
// it when the booking has run out, under the same id. What a target makes of that is its own matter: it may hear of
// an event twice, never more often than there are tries.
//
// Of one target at most two deliveries are under way at once in a server, so that one which hangs holds nobody up. A
// channel or a notifier that does not return in its time is left to itself: its try has failed, and it counts as
// under way until it returns.
package deliver
