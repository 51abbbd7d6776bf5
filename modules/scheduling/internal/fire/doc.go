// Package fire makes the runs of schedules.
//
// Every server does. The store hands a slot to one of them by moving the schedule on, for as long as the slot's hold
// lasts; a slot whose server neither noted a run nor a reason within it goes to whoever asks next. Since a server
// that was stopped in the middle may come back, each of them makes the run under the same idempotency key: there is
// one run, whoever is how late.
package fire
