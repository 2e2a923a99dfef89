import { startAlignmentPage } from './alignment-page';

startAlignmentPage();
