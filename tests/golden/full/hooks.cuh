struct Hooks : IdentityHooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::identity;
};
