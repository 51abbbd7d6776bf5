// Package saml signs in with a SAML 2.0 identity provider: the web browser profile, begun here by redirect and
// answered by a form post.
//
// Of an answer nothing is believed but the one assertion that the provider itself signed, read again from the very
// bytes that the signature covers. A signed response around an unsigned assertion is refused, whatever else holds.
// What the document may look like is bounded before it is parsed: no document type, no comments, no processing
// instructions, few tokens. What a signature may look like is a list of what is allowed, not of what is forbidden.
// Keys come from the provider's metadata alone, never from the message.
package saml
