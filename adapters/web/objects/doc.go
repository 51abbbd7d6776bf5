// Package objects is the part of the web interface that creates, changes and deletes records: one form for each kind of
// record of the API.
//
// The forms follow from the API's document: each member of the body of an operation has a field. The table of a kind
// orders and words them; what it does not mention is in the group "More", so the forms lack nothing of the API.
package objects
