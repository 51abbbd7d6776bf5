// Package oidc signs people in at an OpenID Connect provider: the authorization code flow with PKCE, for
// identity.Provider.
//
// The browser keeps one secret, the binding; the nonce and the PKCE verifier are derived from it, so that the server
// stores hashes alone and an answer completes a sign-in only in the browser that began it. An ID token is believed
// once its signature, issuer, audience, authorized party, times and nonce fit; its algorithm is one of those with a
// public key.
//
// What a provider sends decides nothing before it is verified, and no code, token or secret is part of any error.
package oidc
