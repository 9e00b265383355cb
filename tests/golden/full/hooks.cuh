struct Hooks : IdentityHooks {
};
