// Package oidc implements identity.Provider for OpenID Connect: the authorization code flow with PKCE.
//
// The browser stores one secret, the binding. The nonce and the PKCE verifier are derived from it, so the server
// stores only hashes, and an answer completes a sign-in only in the browser that started it. An ID token is accepted
// if its signature, issuer, audience, authorized party, times and nonce are valid and its algorithm has a public key.
//
// Data of a provider is used only after its verification, and no error contains a code, token or secret.
package oidc
