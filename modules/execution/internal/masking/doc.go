// Package masking masks the reports of relay workers with the secrets that their claims handed out.
//
// What masks is stored sealed as long as the claim lasts, so that each server masks alike, also after a restart.
package masking
