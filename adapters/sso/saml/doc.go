// Package saml implements identity.Provider for SAML 2.0: the web browser profile, with requests by redirect and
// answers by form post.
//
// The only trusted part of an answer is the one assertion that the provider itself signed, parsed again from the bytes
// that the signature covers. A signed response with an unsigned assertion is refused. The form of the document is
// checked before it is parsed: no document type, no comments, no processing instructions, few tokens. The form of a
// signature is checked against a list of allowed parts. Keys come only from the provider's metadata, never from the
// message.
package saml
