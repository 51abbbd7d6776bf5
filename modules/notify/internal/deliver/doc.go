// Package deliver claims deliveries that are due and tries them concurrently.
//
// A delivery is claimed and its try is counted before the try begins. If a server dies, another one claims the delivery
// under the same id when the claim expires. A target may therefore receive an event twice, but never more often than
// there are tries.
//
// A server tries at most two deliveries of one target at the same time, so that a target which hangs blocks no other.
// If a channel or a notifier does not return in time, its try has failed, and it counts as running until it returns.
package deliver
